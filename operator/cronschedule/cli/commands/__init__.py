"""The commands, one module each; `main.py` lists them."""
