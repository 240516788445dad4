package tcx

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instruction is a BPF instruction (linux/bpf.h, struct bpf_insn).
type instruction struct {
	code      uint8
	registers uint8
	offset    int16
	immediate int32
}

// drop drops every frame: r0 = TCX_DROP; exit.
var drop = [...]instruction{
	{code: unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K, immediate: tcxDrop},
	{code: unix.BPF_JMP | unix.BPF_EXIT},
}

const tcxDrop = 2 // TCX_DROP (linux/bpf.h, enum tcx_action_base)

// program is the used part of union bpf_attr for BPF_PROG_LOAD.
type program struct {
	kind, count           uint32
	instructions, license unsafe.Pointer
	logLevel, logSize     uint32
	log                   uint64
	kernelVersion, flags  uint32
	name                  [16]byte
	index, attach         uint32
}

// link is the used part of union bpf_attr for BPF_LINK_CREATE.
type link struct {
	program, index, attach, flags uint32
	relative, _                   uint32
	revision                      uint64
}

// HoldFrames makes the interface with the given index drop all received frames behind its packet sockets until fd is
// closed. It requires CAP_BPF and CAP_NET_ADMIN; using and closing fd requires no privilege.
func HoldFrames(index int) (fd int, err error) {
	license := []byte("BSD\x00")
	load := program{kind: unix.BPF_PROG_TYPE_SCHED_CLS, count: uint32(len(drop)), instructions: unsafe.Pointer(&drop[0]),
		license: unsafe.Pointer(&license[0]), attach: unix.BPF_TCX_INGRESS}
	copy(load.name[:], "weir_hold")
	programFD, err := callBPF(unix.BPF_PROG_LOAD, unsafe.Pointer(&load), unsafe.Sizeof(load))
	runtime.KeepAlive(&license)
	if err != nil {
		return -1, fmt.Errorf("bpf program: %w", err)
	}
	defer unix.Close(programFD) // the link holds a reference
	create := link{program: uint32(programFD), index: uint32(index), attach: unix.BPF_TCX_INGRESS}
	if fd, err = callBPF(unix.BPF_LINK_CREATE, unsafe.Pointer(&create), unsafe.Sizeof(create)); err != nil {
		return -1, fmt.Errorf("bpf program at the ingress of interface %d: %w", index, err)
	}
	return fd, nil
}

// CheckSupport returns nil if HoldFrames can work on this kernel with the process's privileges, else the error. It
// tries an interface that does not exist: a supporting kernel answers ENODEV.
func CheckSupport() error {
	const none = 1<<31 - 1
	_, err := HoldFrames(none)
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// callBPF calls bpf(2) with attributes of size bytes and returns a descriptor that is closed on exec. It retries
// when the verifier was interrupted.
func callBPF(command uintptr, attributes unsafe.Pointer, size uintptr) (fd int, err error) {
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
