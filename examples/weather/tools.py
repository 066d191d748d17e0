"""Two tools for the first run with a model: a weather table to read, an outbox file to write."""

import json
import os
from pathlib import Path

from phaseloop import tool

WEATHER = {
    "beijing": {"city": "Beijing", "temperature_c": 3, "sky": "clear"},
    "shanghai": {"city": "Shanghai", "temperature_c": 11, "sky": "light rain"},
    "oslo": {"city": "Oslo", "temperature_c": -4, "sky": "snow"},
}


@tool(effect="read", category="weather")
def get_weather(city: str) -> dict:
    """Get the weather of a city now: temperature in degrees Celsius and sky.

    Args:
        city: the city's name in English, for example Beijing.
    """
    found = WEATHER.get(city.strip().lower())
    if found is None:
        raise LookupError(f"no weather for {city!r}; known: {', '.join(w['city'] for w in WEATHER.values())}")
    return found


@tool(effect="write", category="mail", identity=("to",))
def send_mail(to: str, subject: str, body: str) -> dict:
    """Send an e-mail.

    Args:
        to: the address, for example ops@example.com.
        subject: one line.
        body: the text.
    """
    outbox = Path(os.environ.get("OUTBOX", "outbox.jsonl"))
    with outbox.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"to": to, "subject": subject, "body": body}, ensure_ascii=False) + "\n")
    return {"sent": True, "to": to}
