"""A page in the browser about arbitration tables: golden and vlane's rules, translated to WebAssembly."""
