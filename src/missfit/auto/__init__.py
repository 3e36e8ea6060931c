"""The default: a base by held-out prediction, and flexible parts where they pay."""
