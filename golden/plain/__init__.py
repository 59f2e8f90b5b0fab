"""The plain model: switches, links and hosts written for readers, one object per packet. Read it first."""
