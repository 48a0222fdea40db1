"""What clients do through the proxy, in any order, judged by rules of their own.

- `apis.py`       how the messages and requests of an API look
- `talk.py`       a client's conversation, in spellings that no encoder writes by itself
- `provider.py`   a fake provider that keeps the bytes of each request and of each answer
- `stored.py`     what a store holds of what they said
- `judge.py`      what may have arrived for a request
"""
