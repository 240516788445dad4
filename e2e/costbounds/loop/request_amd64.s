#include "textflag.h"

// func request(args *[6]uint64) uint64
// Valgrind knows these instructions (valgrind.h, __VALGRIND_DO_CLIENT_REQUEST): together they change nothing.
TEXT ·request(SB), NOSPLIT, $0-16
	MOVQ args+0(FP), AX
	XORQ DX, DX
	ROLQ $3, DI
	ROLQ $13, DI
	ROLQ $61, DI
	ROLQ $51, DI
	XCHGQ BX, BX
	MOVQ DX, ret+8(FP)
	RET
