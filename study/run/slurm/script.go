package slurm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/internal/text"
)

// directive is an option of sbatch.
type directive struct{ name, value string }

// String returns the option's line of a script. Values with special characters are quoted as sbatch reads them.
func (d directive) String() string {
	switch {
	case d.value == "":
		return "#SBATCH --" + d.name + "\n"
	case plainValue.MatchString(d.value):
		return "#SBATCH --" + d.name + "=" + d.value + "\n"
	}
	return "#SBATCH --" + d.name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(d.value) + "\"\n"
}

var (
	plainValue = regexp.MustCompile(`^[A-Za-z0-9_.,:/%@+=-]+$`)
	optionName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

// fixed maps options of sbatch that a sweep sets itself to the reason.
var fixed = map[string]string{
	"array":       "weir sets the array of tasks",
	"chdir":       "tasks need the folder of the sweep",
	"error":       "weir reads the logs in log/",
	"output":      "weir reads the logs in log/",
	"wrap":        "weir writes the script",
	"parsable":    "weir parses the output of sbatch",
	"wait":        "weir waits for the job itself",
	"test-only":   "no job would be submitted",
	"requeue":     "weir sets this option",
	"help":        "no job would be submitted",
	"usage":       "no job would be submitted",
	"version":     "no job would be submitted",
	"ntasks":      "each task of the array is one process",
	"open-mode":   "a restarted task must append to its log",
	"export-file": "tasks need the environment",
}

// parseDirectives parses options of sbatch: partition=short, exclusive, with or without leading hyphens. Options that a
// sweep sets itself and values with control characters are errors.
func parseDirectives(options []string) (all []directive, err error) {
	for _, o := range options {
		name, value, _ := strings.Cut(strings.TrimPrefix(o, "--"), "=")
		switch {
		case !optionName.MatchString(name):
			return nil, fmt.Errorf("%q is not an option of sbatch; options such as partition=short or exclusive are allowed", o)
		case fixed[name] != "":
			return nil, fmt.Errorf("%q cannot be set: %s", name, fixed[name])
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, fmt.Errorf("%q has a control character", o)
		}
		all = append(all, directive{name, value})
	}
	return all, nil
}

// renderScript returns the sbatch script of the array with index i. Options.Sbatch replaces the script's own options.
// It has no absolute path, so that the folder can be moved; it must be submitted in the folder itself.
func (f *Folder) renderScript(i int, o Options) []byte {
	a, runs := &f.Job.Arrays[i], 0
	for _, ids := range f.Job.Tasks[a.First : a.Last+1] {
		runs += len(ids)
	}
	given, _ := parseDirectives(o.Sbatch)
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# Made by weir export slurm: %s in %s.\n# Submit it in its own folder: sbatch %s\n",
		text.Count(runs, "run"), text.Count(a.Last-a.First+1, "task"), a.Script)
	own := []directive{
		{"job-name", f.Job.Name},
		{"array", fmt.Sprintf("%d-%d", a.First, a.Last)},
		{"time", fmt.Sprint(a.Minutes)},
		{"mem", fmt.Sprintf("%dM", a.MemoryBytes>>20)},
		{"cpus-per-task", fmt.Sprint(o.Threads)},
		{"output", logs + "/%A_%a.txt"},
		{"open-mode", "append"},
		{"requeue", ""},
	}
	for _, d := range own {
		if !slices.ContainsFunc(given, func(g directive) bool { return replaces(g.name, d.name) }) {
			b.WriteString(d.String())
		}
	}
	for _, d := range given {
		b.WriteString(d.String())
	}
	flags := ""
	if o.AnyProgram {
		flags = " --any-program"
	}
	fmt.Fprintf(&b, `
if [ ! -f %s ]; then
	echo "$(pwd) has no %s; call sbatch in the folder of %s" >&2
	exit 2
fi
# Slurm sends SIGTERM to a task when it takes the machine back: finished runs are in runs/, and a restarted task
# continues with the rest. WEIR names another copy of the program.
exec "${WEIR:-./%s}" task . --index "$SLURM_ARRAY_TASK_ID" --threads %d%s
`, manifest, manifest, a.Script, program, o.Threads, flags)
	return []byte(b.String())
}

// replaces reports whether a given option overrides one of the script's own.
func replaces(given, own string) bool {
	return given == own || own == "mem" && (given == "mem-per-cpu" || given == "mem-per-gpu") ||
		own == "requeue" && given == "no-requeue"
}
