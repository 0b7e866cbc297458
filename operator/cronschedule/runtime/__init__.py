"""The shell: talks to the API server, keeps time, carries out what the core plans."""
