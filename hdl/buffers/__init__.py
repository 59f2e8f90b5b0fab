"""Hardware of buffers: the VL buffer, its geometry, and queues of packet sizes."""
