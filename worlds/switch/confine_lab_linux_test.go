//go:build lab && linux && (amd64 || arm64)

package softswitch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/internal/testkit/await"
	"weir/worlds/switch/control"
)

// forbidden returns calls that neither process may make, each with the kernel's answer.
func forbidden() map[string]error {
	path, none := append([]byte("/bin/true"), 0), uintptr(0)
	at := uintptr(unsafe.Pointer(&path[0]))
	call := func(trap, a, b, c uintptr) error {
		if _, _, errno := unix.RawSyscall(trap, a, b, c); errno != 0 {
			return errno
		}
		return nil
	}
	open := func(flags int) error {
		_, err := unix.Open("/tmp/weir-confine", flags, 0o600)
		return err
	}
	_, executable := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	_, packets := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	_, local := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	return map[string]error{
		"execve": call(unix.SYS_EXECVE, at, none, none), "fork": call(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0),
		"ptrace": call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0), "setns": call(unix.SYS_SETNS, 0, 0, 0),
		"unshare": call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0), "bpf": call(unix.SYS_BPF, 0, 0, 0),
		"kill": unix.Kill(os.Getppid(), 0), "write a file": open(unix.O_WRONLY | unix.O_CREAT),
		"truncate a file": open(unix.O_RDONLY | unix.O_TRUNC), "memory to execute": executable,
		"packet socket": packets, "local socket": local, "connect": call(unix.SYS_CONNECT, 0, 0, 0),
		"bind": call(unix.SYS_BIND, 0, 0, 0), "dumpable": unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0),
		"io_uring": call(unix.SYS_IO_URING_SETUP, 1, 0, 0), "priority": unix.Setpriority(unix.PRIO_PROCESS, 0, 1),
	}
}

// ofDataPlane returns calls that the supervisor may make, but not the data plane.
func ofDataPlane() map[string]error {
	all := forbidden()
	_, all["read a file"] = unix.Open("/etc/passwd", unix.O_RDONLY, 0)
	_, all["socket"] = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	return all
}

// passed returns the calls that did not fail with EPERM.
func passed(calls map[string]error) (all []string) {
	for name, err := range calls {
		if !errors.Is(err, unix.EPERM) {
			all = append(all, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return all
}

// works does the usual work of a Go program: threads, goroutines, timers, garbage, signals to itself, allocating
// and releasing memory, pipes.
func works() error {
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			runtime.LockOSThread() // the thread ends with it
			time.Sleep(5 * time.Millisecond)
			unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG)
			block := make([]byte, 4<<20)
			for i := range block {
				block[i] = byte(i)
			}
		})
	}
	all.Wait()
	debug.FreeOSMemory()
	spin := make(chan bool)
	go func() { // until a signal takes the processor away
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
			runtime.GC()
		}
		close(spin)
	}()
	<-spin
	runtime.SetDefaultGOMAXPROCS() // what the runtime does each second: it looks how many processors there are
	return nil
}

// Confined is the part of a process of TestConfined_AllowsOnlyListedCalls; it returns the failure.
func Confined(what string) error {
	var err error
	calls := forbidden
	if what == "data plane" {
		err, calls = control.ConfineDataPlane(), ofDataPlane
	} else {
		err = control.ConfineSupervisor(os.Getpid())
	}
	if err == nil {
		err = works()
	}
	if p := passed(calls()); err == nil && len(p) > 0 {
		err = fmt.Errorf("not refused: %s", strings.Join(p, "; "))
	}
	return err
}

// TestConfined_AllowsOnlyListedCalls checks that Go's runtime works within the filters, and calls that are not on their
// lists fail.
func TestConfined_AllowsOnlyListedCalls(t *testing.T) {
	for _, what := range []string{"data plane", "supervisor"} {
		t.Run(what, func(t *testing.T) {
			p := await.Start(t, exec.Command(os.Args[0], "switch-confined", what))
			if code := p.AwaitExit(); code != 0 || p.Stdout() != "confined\n" {
				t.Errorf("exit code %d: %s", code, p.Output())
			}
		})
	}
}

// intruder is a program that tries forbidden calls, in one of the switch's processes.
func intruder(process string, calls func() map[string]error) dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "intruder-" + process, Doc: "tries what is forbidden", Source: "Weir"},
		func(site *dataplane.Site, c scheme.None) (*counter, error) {
			if len(os.Args) < 2 || os.Args[1] != "switch-"+process {
				return newCounter(site, c)
			}
			if p := passed(calls()); len(p) > 0 {
				return nil, fmt.Errorf("not refused: %s", strings.Join(p, "; "))
			}
			return nil, errors.New("all is refused to the " + process)
		})
}

// Intruders returns the programs of TestProcesses_FailForbiddenCalls.
func Intruders() []dataplane.Scheme {
	return []dataplane.Scheme{intruder("dataplane", ofDataPlane), intruder("supervisor", forbidden)}
}
