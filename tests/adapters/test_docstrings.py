from phaseloop.adapters.docstrings import parse_docstring


def test_google_style():
    docs = parse_docstring(
        """Find a room.

        Args:
            city: where
            people (int, optional): how many
                will come

        Raises:
            ValueError: never
        """
    )
    assert docs.text == "Find a room."
    assert docs.parameters == {"city": "where", "people": "how many will come"}


def test_numpy_style():
    docs = parse_docstring(
        """Find a room.

        Parameters
        ----------
        city : str
            where
        start, end : date
            first and last day

        Returns
        -------
        str
            the room
        """
    )
    assert docs.text == "Find a room."
    assert docs.parameters == {"city": "where", "start": "first and last day", "end": "first and last day"}


def test_sphinx_style():
    docs = parse_docstring(
        """Find a room.

        :param str city: where
            exactly
        :param people: how many
        :returns: the room
        """
    )
    assert docs.text == "Find a room."
    assert docs.parameters == {"city": "where exactly", "people": "how many"}


def test_notes_stay_in_the_text_and_nothing_is_no_error():
    docs = parse_docstring("Find.\n\nNote:\n    Only on weekdays.\n\nArgs:\n    city: where\n")
    assert docs.text == "Find.\n\nNote:\nOnly on weekdays."
    assert docs.parameters == {"city": "where"}
    assert parse_docstring(None).text == ""
    assert parse_docstring("Time: 10:30 is fine.").text == "Time: 10:30 is fine."
