"""Plain reference model: switches, links and hosts written for readers, with one object per packet and flit.

Read ``golden/plain/network.py`` first. The model is written only from the rules on the docs pages, independently of the
compiled golden model; tests compare the two.
"""
