"""Kernels of ``vlane.schedulers.vlarb_service``: longest waits and exact shares under an arbitration table."""

from __future__ import annotations

from vlane.fabric.dumps import opensm_numbers
from vlane.golden.engine.kernel import kernel
from vlane.schedulers import vlarb_service

longest_wait_blocks = kernel(vlarb_service.longest_wait_blocks)
read_list = kernel(opensm_numbers.read_list)
saturated_service = kernel(vlarb_service.saturated_service)
