"""One HTML file with a timeline: no network, no library, readable on paper and by keyboard."""
