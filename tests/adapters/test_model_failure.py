import pickle

from phaseloop.adapters.model_failure import ModelStopped, sentence
from phaseloop.core.errors import ModelFailed


def test_a_stopped_model_is_a_failed_model_with_a_kind_and_survives_a_copy():
    error = pickle.loads(pickle.dumps(ModelStopped("model m gave no answer in 5 rounds", "max_rounds")))
    assert isinstance(error, ModelFailed)
    assert (str(error), error.kind) == ("model m gave no answer in 5 rounds", "max_rounds")


def test_only_long_values_of_secret_variables_are_hidden():
    assert sentence("the key none of it is long-enough", ["none", "long-enough"]) == "the key none of it is ***"
