package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

const (
	// execCommand makes this program the wrapper that go test -exec runs for each test binary.
	execCommand = "exec"
	// planVariable names the environment variable with the file of an execPlan.
	planVariable = "WEIR_CI_PLAN"
)

// execPlan has the tests of each package that a stage leaves out, and the file that records processor time.
type execPlan struct {
	Root  string            // of the module
	Skip  map[string]string // by folder: a regular expression for go test -skip
	Usage string            // a file to which each test binary's usage is appended
}

// usage is what one test binary used, with its children.
type usage struct {
	Folder string  // of the package
	CPU    float64 // seconds of user and system time
}

// execTest runs a test binary, args[0], with the tests of the stage, appends its processor time to the plan's file, and
// returns its exit code; 2 if the wrapper fails. It passes signals on, so that a test that hangs prints its stacks.
func execTest(args []string) int {
	plan, folder, err := loadPlan()
	if err != nil || len(args) == 0 {
		fmt.Fprintln(os.Stderr, "ci exec:", err)
		return 2
	}
	if skip := plan.Skip[folder]; skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGTERM, os.Interrupt)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "ci exec:", err)
		return 2
	}
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	cmd.Wait()
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err := appendUsage(plan.Usage, usage{folder, used.Seconds()}); err != nil {
		fmt.Fprintln(os.Stderr, "ci exec:", err)
		return 2
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	fmt.Fprintln(os.Stderr, "ci exec: the test binary ended with", cmd.ProcessState)
	return 2
}

// loadPlan reads the plan from the file that planVariable names, and returns with it the folder of the tested package,
// the working directory, relative to the plan's root.
func loadPlan() (plan execPlan, folder string, err error) {
	data, err := os.ReadFile(os.Getenv(planVariable))
	if err != nil {
		return plan, "", err
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return plan, "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return plan, "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return plan, "", err
	}
	folder, err = filepath.Rel(plan.Root, dir)
	return plan, filepath.ToSlash(folder), err
}

// appendUsage adds a line to the file of usages. Wrappers of several packages may do so at once.
func appendUsage(file string, u usage) error {
	line, err := json.Marshal(u)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
