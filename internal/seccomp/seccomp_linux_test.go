package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// evaluateFilter returns the verdict of a filter for a system call. It interprets the instructions of classic BPF that
// this package's filters use.
func evaluateFilter(t *testing.T, p []unix.SockFilter, arch, call uint32, args [6]uint64) uint32 {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, call)
	data = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(data, arch), 0)
	for _, x := range args {
		data = binary.LittleEndian.AppendUint64(data, x)
	}
	a := uint32(0)
	for i := 0; i < len(p); i++ {
		switch x := p[i]; x.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[x.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= x.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if a == x.K {
				i += int(x.Jt)
			} else {
				i += int(x.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return x.K
		default:
			t.Fatalf("instruction %d is %+v", i, x)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestAssembleFilter_AppliesRules(t *testing.T) {
	const arch, other = unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_X86_64
	rules := append(AllowCalls(7, 8),
		Rule{Call: 9, Arg: 2, Mask: 4, Want: 0},
		Rule{Call: 10, Arg: 0, Mask: 0xff, Want: 2}, Rule{Call: 10, Arg: 5, Mask: ^uint32(0), Want: 3},
		Rule{Call: 11, Errno: unix.ENOSYS})
	p := assembleFilter(arch, rules)
	const allow, no = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	for _, x := range []struct {
		name       string
		arch, call uint32
		args       [6]uint64
		want       uint32
	}{
		{"on the list", arch, 7, [6]uint64{}, allow},
		{"on the list, second", arch, 8, [6]uint64{1: 5}, allow},
		{"on no list", arch, 6, [6]uint64{}, no},
		{"another number space", arch, 7 | 0x40000000, [6]uint64{}, no},
		{"another architecture", other, 7, [6]uint64{}, unix.SECCOMP_RET_KILL_PROCESS},
		{"without the bit", arch, 9, [6]uint64{2: 3}, allow},
		{"with the bit", arch, 9, [6]uint64{2: 7}, no},
		{"the first argument", arch, 10, [6]uint64{0: 0xf02}, allow},
		{"the last argument", arch, 10, [6]uint64{5: 3}, allow},
		{"neither", arch, 10, [6]uint64{0: 3, 5: 2}, no},
		{"with an error of its own", arch, 11, [6]uint64{}, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := evaluateFilter(t, p, x.arch, x.call, x.args); got != x.want {
				t.Errorf("%#x, want %#x", got, x.want)
			}
		})
	}
}
