"""What every process of the service needs, whatever it serves."""
