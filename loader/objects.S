/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The compiled BPF objects as bytes, for bpf_object__open_mem(). */
	.section .rodata
	.macro object name, file
	.balign 16
	.globl \name\()_start, \name\()_end
\name\()_start:
	.incbin "\file"
\name\()_end:
	.endm

	object xfib_bpf, "xfib.bpf.o"
	object clock_bpf, "clock.bpf.o"

	.section .note.GNU-stack, "", @progbits
