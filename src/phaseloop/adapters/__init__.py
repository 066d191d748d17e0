"""One file for each library or outside system; nothing here knows its neighbours."""
