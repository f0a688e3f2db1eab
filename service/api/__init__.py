"""The HTTP server: Flask application, REST operations, web pages, and request handling."""
