"""Real command lines of agents, driven through the proxy as the page of the proxy says: `make test-clients`."""
