"""What a request costs in tokens.

`usage.py` adds up counts and calibrates them by providers' reports, `reported_usage.py` judges these reports and
`responses.py` reads them from responses. `budget.py` resolves how much a request may take. `model_profiles.py` holds
how model families count, `known_models.py` what providers publish about models. `engines/` are the tokenizers, and
measure messages.
"""
