"""What is done in a host. Each function is a journey: it runs in a process of its own and answers a report."""
