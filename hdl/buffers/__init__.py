"""Hardware of buffers: the buffer of virtual lanes, its geometry, queues of sizes."""
