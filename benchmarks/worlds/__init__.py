"""Worlds with databases and tools, and a scripted agent that works in them.

    script.py   what a session consists of: words and actions
    agent.py    the agent, which knows only what its view shows, and the judge
    tau2.py     the shop and the airline of tau2
    bfcl.py     the multi-turn sets of BFCL

All data are read from installed packages; none is stored here.
"""
