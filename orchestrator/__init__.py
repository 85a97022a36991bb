"""Where all meet: the store, the worlds and their hosts on Ray, replay, and the command line."""
