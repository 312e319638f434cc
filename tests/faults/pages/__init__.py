"""Faults under a real page: the React example in Chromium, with the back ends that serve it."""
