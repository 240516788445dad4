//go:build killpoints

package killpoint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// Variable names the environment variable with the folder of the plan and the log.
const Variable = "WEIR_KILLPOINTS"

// plan is an action and the operation at which it is due.
type plan struct {
	action, moment, operation, pattern string
	count                              int
}

// state is the plan of this process and its progress.
var state struct {
	sync.Mutex
	folder string
	plan   plan
	count  int // of the operations that match the plan
}

// init reads the plan. It panics if the plan is wrong.
func init() {
	if state.folder = os.Getenv(Variable); state.folder == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(state.folder, "plan"))
	if os.IsNotExist(err) {
		return
	}
	p := &state.plan
	if _, scanErr := fmt.Sscan(string(text), &p.action, &p.moment, &p.operation, &p.pattern, &p.count); err != nil ||
		scanErr != nil || p.action != "kill" && p.action != "hold" {
		panic(fmt.Sprintf("%s: the plan %q is wrong: %v, %v", Variable, text, err, scanErr))
	}
}

// Reach logs a moment of an operation on a file, and runs the plan's action if it is due: it kills the process, or
// waits for the release. The log has the file's name and its folder's name. Without WEIR_KILLPOINTS it has no effect.
func Reach(moment, operation, file string) {
	if state.folder == "" {
		return
	}
	if file = filepath.ToSlash(file); file != "" {
		file = path.Base(path.Dir(file)) + "/" + path.Base(file)
	}
	switch record(moment, operation, file) {
	case "kill":
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			p.Kill()
		}
		select {} // until the signal arrives
	case "hold":
		for {
			if _, err := os.Stat(filepath.Join(state.folder, "release")); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// record logs a moment, counts it if it matches the plan, and returns the action that is due there, or "". It panics if
// it cannot write the log.
func record(moment, operation, file string) (action string) {
	state.Lock()
	defer state.Unlock()
	p := &state.plan
	if matches, _ := path.Match(p.pattern, file); matches && moment == p.moment && operation == p.operation {
		if state.count++; state.count >= p.count {
			action = p.action
		}
	}
	log, err := os.OpenFile(filepath.Join(state.folder, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	line := fmt.Sprintf("%s %s %s\n", moment, operation, file)
	if action == "hold" {
		line = "held " + line
	}
	if _, err := log.WriteString(line); err != nil {
		panic(err)
	}
	return action
}
