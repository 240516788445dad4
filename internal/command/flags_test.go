package command

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// allFlags has a flag of each type.
type allFlags struct {
	Config   string        `short:"c" placeholder:"FILE" help:"A file."`
	Check    bool          `help:"Only check."`
	Follow   string        `default:"hpcc" help:"What is followed."`
	MaxStage *int          `placeholder:"N" help:"Stages."`
	RTT      *string       `name:"rtt" placeholder:"TIME" help:"A round trip."`
	Every    time.Duration `default:"1s" help:"A period."`
}

// runProgram runs a program with allFlags. It returns the flags, the exit code and the output.
func runProgram(t *testing.T, args ...string) (flags allFlags, code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	p := Program{Description: "A test.", Flags: &flags,
		Run: func(*Environment) error {
			if flags.Config == "failing" {
				return errors.New("it fails")
			}
			return nil
		},
		Processes: map[string]func([]string, *Environment) error{"process": func(args []string, e *Environment) error {
			_, err := e.Stdout.Write([]byte(strings.Join(args, " ")))
			return err
		}}}
	code = p.execute(&Environment{}, args, &out, &errs)
	return flags, code, out.String(), errs.String()
}

// TestFlags_ParseInEachForm checks that each type is parsed in each way to write it, and that flags that are not given
// have their defaults.
func TestFlags_ParseInEachForm(t *testing.T) {
	f, code, _, stderr := runProgram(t)
	if code != Done || stderr != "" || f != (allFlags{Follow: "hpcc", Every: time.Second}) {
		t.Errorf("no flags: %+v, %d, %q", f, code, stderr)
	}
	for _, args := range [][]string{
		{"-c", "a", "--check", "--follow", "ncf", "--max-stage", "3", "--rtt", "5us", "--every", "2s"},
		{"-c=a", "--check=true", "--follow=ncf", "--max-stage=3", "--rtt=5us", "--every=2s"},
		{"--config", "a", "--check", "--follow=ncf", "--max-stage=3", "--rtt=5us", "--every=2s"},
	} {
		f, code, _, stderr := runProgram(t, args...)
		if code != Done || stderr != "" || f.Config != "a" || !f.Check || f.Follow != "ncf" || f.MaxStage == nil ||
			*f.MaxStage != 3 || f.RTT == nil || *f.RTT != "5us" || f.Every != 2*time.Second {
			t.Errorf("%q: %+v, %d, %q", args, f, code, stderr)
		}
	}
}

// TestProgram_ReturnsExitCodesAndHelp checks exit codes, the help, the version and the program's processes.
func TestProgram_ReturnsExitCodesAndHelp(t *testing.T) {
	for _, x := range []struct {
		args           string
		code           int
		stdout, stderr string // parts of them
	}{
		{"--help", Done, "-c, --config=FILE  A file.", ""},
		{"-h", Done, "      --follow=hpcc  What is followed.", ""},
		{"--version", Done, Version(), ""},
		{"process 3 4", Done, "3 4", ""},
		{"--config failing", RunFailed, "", "it fails"},
		{"--max-stage x", WrongInput, "", "--help lists the flags"},
		{"--every", WrongInput, "", "every"},
		{"--none", WrongInput, "", "-none"},
		{"file", WrongInput, "", `"file" is not a flag`},
	} {
		_, code, stdout, stderr := runProgram(t, strings.Fields(x.args)...)
		if code != x.code || !strings.Contains(stdout, x.stdout) || !strings.Contains(stderr, x.stderr) ||
			(stderr == "") != (x.code == Done) {
			t.Errorf("%s: %d, %q, %q", x.args, code, stdout, stderr)
		}
	}
}

// TestFlagName checks that a flag has a hyphen before each word, and that capitals of an abbreviation are one word.
func TestFlagName(t *testing.T) {
	for field, want := range map[string]string{"Check": "check", "MaxStage": "max-stage", "RTT": "rtt",
		"BaseRTT": "base-rtt", "RTTBound": "rtt-bound"} {
		if got := FlagName(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
