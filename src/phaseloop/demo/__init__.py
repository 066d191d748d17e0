"""The five-phase demo: a sales page built offline by scripted models with real local tools."""
