"""What a request costs in tokens.

`usage.py` adds up counts and calibrates them by what providers report; `budget.py` is what a request may take;
`model_profiles.py` is how model families count; `engines/` are the tokenizers and measure messages.
"""
