"""Shipped checks that others can run on what they add: environments, adapters, policies; and trace strategies."""
