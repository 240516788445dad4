package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
)

// stagePrograms are the programs under test that a stage builds before its first test, so that no
// compiler runs next to a test that measures real time. Each is a folder, then flags of go build.
var stagePrograms = map[string][][]string{
	"lab":  {{"cmd/weir"}, {"cmd/weir-switch"}, {"cmd/weir-agent"}},
	"slow": {{"cmd/weir"}},
}

// leftOutVariable is set where .ci/packages could not install all packages of a stage.
const leftOutVariable = "WEIR_LEFT_OUT"

// errNoTest reports a run without a test.
var errNoTest = errors.New("no test passed")

// missingHere matches reasons of skips that are errors for root where all packages are installed: missing rights,
// programs and modules. DuckDB is installed by .ci/system, not from a Debian package.
var missingHere = regexp.MustCompile(`^needs |no (network )?namespaces|^DuckDB is not installed|` +
	regexp.QuoteMeta(testkit.NotInstalled))

// stageCommand runs the tests of the stage args[0], with the other arguments as flags of go test, and prints their
// outcome.
func stageCommand(root string, args []string) error {
	if len(args) == 0 || args[0] != pureStage && !slices.Contains(taggedStages, args[0]) {
		return fmt.Errorf("usage: ci stage %s|%s [flags of go test]", pureStage, strings.Join(taggedStages, "|"))
	}
	stage, flags := args[0], args[1:]
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	tests, err := findTests(root, files)
	if err != nil {
		return err
	}
	s := selection{stages: []string{stage}, tests: tests}
	if os.Geteuid() == 0 && os.Getenv(leftOutVariable) == "" && stage != "slow" {
		s.strict = missingHere.MatchString
	}
	switch stage {
	case pureStage:
		flags = append([]string{"-shuffle=on"}, flags...)
	case "lab":
		// Real time: one package at a time. Tests in parallel only wait.
		flags = append([]string{"-tags", stage, "-p", "1", "-parallel", "8"}, flags...)
	default:
		flags = append([]string{"-tags", stage}, flags...)
	}
	if stage == "lab" || stage == "system" || stage == "slow" {
		remove, err := buildPrograms(stage)
		if err != nil {
			return err
		}
		defer remove()
	}
	if stage != "slow" {
		return s.run(root, "stage "+stage, flags)
	}
	realTime, err := realTimeFolders(root, files, stage)
	if err != nil {
		return err
	}
	return s.runInPasses(root, "stage "+stage, realTime, flags)
}

// buildPrograms builds a stage's programs into a temporary folder, which its tests find through the environment.
// The caller calls remove at the end.
func buildPrograms(stage string) (remove func(), err error) {
	dir, err := await.NewProgramDir()
	if err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	err = os.Setenv(await.ProgramsVariable, dir)
	for _, p := range stagePrograms[stage] {
		if err == nil {
			_, err = await.BuildProgram(p[0], p[1:]...)
		}
	}
	if err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// selection is the tests of some stages in some packages.
type selection struct {
	stages []string
	tests  []test                   // of the module
	accept func(t test) bool        // nil: all tests of the stages
	strict func(reason string) bool // whether a skip for this reason is an error; nil: never
}

// selects reports whether a test is run.
func (s *selection) selects(t test) bool {
	return slices.Contains(s.stages, t.stage) && (s.accept == nil || s.accept(t))
}

// packages returns the folders with a selected test, in the order of s.tests, which must be sorted by folder. For each
// it returns the pattern of the tests of the same test binary that are left out.
func (s *selection) packages() (folders []string, skip map[string]string) {
	left := map[string][]string{}
	for _, t := range s.tests {
		if s.selects(t) {
			if len(folders) == 0 || folders[len(folders)-1] != t.folder {
				folders = append(folders, t.folder)
			}
		} else if t.stage == pureStage || slices.Contains(s.stages, t.stage) {
			left[t.folder] = append(left[t.folder], regexp.QuoteMeta(t.name))
		}
	}
	skip = map[string]string{}
	for folder, names := range left {
		skip[folder] = "^(" + strings.Join(names, "|") + ")$"
	}
	return folders, skip
}

// run runs the selected tests with flags of go test, and prints the outcome under a title, also into the file of
// summaryVariable. An error names what failed; it is errNoTest if no test is selected or has ended.
func (s *selection) run(root, title string, flags []string) error {
	folders, skip := s.packages()
	if len(folders) == 0 {
		return errNoTest
	}
	dir, err := os.MkdirTemp("", "weir-ci-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	plan := execPlan{Root: root, Skip: skip, Usage: filepath.Join(dir, "usage")}
	data, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	planFile := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(planFile, data, 0o666); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=30m", "-exec", "'" + self + "' " + execCommand}
	args = append(args, flags...)
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), planVariable+"="+planFile)
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	o := newOutcome(os.Stdout)
	if err := o.read(events); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return err
	}
	exit := cmd.Wait()
	if err := o.readUsage(plan.Usage); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	o.print(title, time.Since(start))
	if err := o.appendSummary(title); err != nil {
		return err
	}
	return o.judge(exit, s.strict)
}

// runInPasses runs the tests of folders with real time first, one package at a time, and then the others.
func (s *selection) runInPasses(root, title string, realTime map[string]bool, flags []string) error {
	first, second := *s, *s
	first.accept = func(t test) bool { return realTime[t.folder] }
	second.accept = func(t test) bool { return !realTime[t.folder] }
	return joinPasses(first.run(root, title+", real time", append([]string{"-p", "1"}, flags...)),
		second.run(root, title+", computation", flags))
}

// joinPasses returns the errors of two passes. That one of them has no test, with a flag -run, is not an error.
func joinPasses(first, second error) error {
	if errors.Is(first, errNoTest) && !errors.Is(second, errNoTest) {
		return second
	}
	if errors.Is(second, errNoTest) && !errors.Is(first, errNoTest) {
		return first
	}
	return errors.Join(first, second)
}

// module is this module's path.
const module = "weir"

// packageDir returns the folder of a package of this module.
func packageDir(pkg string) string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"))
}
