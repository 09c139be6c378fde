"""What the site makes of itself while it is built: code that runs, pictures, the demonstration's page."""
