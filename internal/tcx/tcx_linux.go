package tcx

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instruction is one of BPF (linux/bpf.h, struct bpf_insn).
type instruction struct {
	code      uint8
	registers uint8
	offset    int16
	immediate int32
}

// drop is a program that drops every frame: r0 = TCX_DROP; exit.
var drop = [...]instruction{
	{code: unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K, immediate: tcxDrop},
	{code: unix.BPF_JMP | unix.BPF_EXIT},
}

const tcxDrop = 2 // TCX_DROP (linux/bpf.h, enum tcx_action_base)

// program is union bpf_attr of BPF_PROG_LOAD, as far as it is needed.
type program struct {
	kind, count           uint32
	instructions, license unsafe.Pointer
	logLevel, logSize     uint32
	log                   uint64
	kernelVersion, flags  uint32
	name                  [16]byte
	index, attach         uint32
}

// link is union bpf_attr of BPF_LINK_CREATE, as far as it is needed.
type link struct {
	program, index, attach, flags uint32
	relative, _                   uint32
	revision                      uint64
}

// Hold has the interface with an index drop all that comes in behind packet sockets, until the descriptor is closed.
// It needs CAP_BPF and CAP_NET_ADMIN; what comes after needs none.
func Hold(index int) (fd int, err error) {
	license := []byte("BSD\x00")
	load := program{kind: unix.BPF_PROG_TYPE_SCHED_CLS, count: uint32(len(drop)), instructions: unsafe.Pointer(&drop[0]),
		license: unsafe.Pointer(&license[0]), attach: unix.BPF_TCX_INGRESS}
	copy(load.name[:], "weir_hold")
	of, err := bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&load), unsafe.Sizeof(load))
	runtime.KeepAlive(&license)
	if err != nil {
		return -1, fmt.Errorf("bpf program: %w", err)
	}
	defer unix.Close(of) // the link has it
	create := link{program: uint32(of), index: uint32(index), attach: unix.BPF_TCX_INGRESS}
	if fd, err = bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(&create), unsafe.Sizeof(create)); err != nil {
		return -1, fmt.Errorf("bpf program at the ingress of interface %d: %w", index, err)
	}
	return fd, nil
}

// Possible reports why Hold would fail on this kernel, or with these rights: it asks for an interface that there is
// not, and a kernel that can do it says just that.
func Possible() error {
	const none = 1<<31 - 1
	_, err := Hold(none)
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

func bpf(command uintptr, attributes unsafe.Pointer, size uintptr) (fd int, err error) {
	for {
		r, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(attributes), size)
		switch {
		case errno == unix.EAGAIN: // the verifier was interrupted
		case errno != 0:
			return -1, errno
		default:
			unix.CloseOnExec(int(r))
			return int(r), nil
		}
	}
}
