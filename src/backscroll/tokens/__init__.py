"""What a request costs in tokens.

- `counts.py`: raw counts of the parts of a message, as they are stored with it
- `usage.py`: adds counts up and calibrates them by providers' reports
- `reported_usage.py`: judges these reports; `responses.py` reads them from responses
- `response_notes.py`: what a provider says of a request next to its usage
- `budget.py`: how much a request may take; `windows.py` the window of a lane's model
- `model_profiles.py`: how model families count; `known_models.py` what providers publish about models
- `request_media.py`: what one request holds of media, and whether its provider accepts as much
- `engines/`: the tokenizers; they measure messages
"""
