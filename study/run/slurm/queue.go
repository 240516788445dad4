package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandPatience limits the time of a Slurm command. A busy controller lets commands wait.
const commandPatience = 2 * time.Minute

// commands runs a command of Slurm in a folder and returns its output. nil runs the programs of this machine.
type commands func(ctx context.Context, dir, name string, args ...string) (string, error)

// callCommand runs a command in a folder and returns its output.
func (c commands) callCommand(ctx context.Context, dir, name string, args ...string) (string, error) {
	if c == nil {
		return runProgram(ctx, dir, name, args...)
	}
	return c(ctx, dir, name, args...)
}

// runProgram runs a program of this machine in a folder and returns its output. The error has the program's error
// output. A missing program is a missingError. The program has up to commandPatience.
func runProgram(ctx context.Context, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // a user's own format would hide tasks
		return strings.HasPrefix(v, "SQUEUE_") || strings.HasPrefix(v, "SACCT_")
	})
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", missingError{name}
	}
	said := strings.Join(strings.Fields(errs.String()), " ")
	if said == "" {
		said = err.Error()
	}
	return "", fmt.Errorf("%s: %s", name, strings.TrimPrefix(said, name+": "))
}

// missingError is the error of a machine without Slurm's commands.
type missingError struct{ command string }

func (e missingError) Error() string {
	return fmt.Sprintf("this machine has no %s; run this command on a machine of the cluster with Slurm's commands, or "+
		"copy a folder of weir export slurm there", e.command)
}

// submitScript submits a script in its folder and returns the job number.
func (c commands) submitScript(ctx context.Context, dir, script string) (job int, err error) {
	out, err := c.callCommand(ctx, dir, "sbatch", "--parsable", script)
	if err != nil {
		return 0, err
	}
	return readSubmitted(out)
}

// readSubmitted parses the output of sbatch --parsable: the job, and after a semicolon the cluster. A site may print
// lines before it.
func readSubmitted(out string) (job int, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	word, _, _ := strings.Cut(strings.TrimSpace(lines[len(lines)-1]), ";")
	if job, err = strconv.Atoi(word); err != nil || job < 1 {
		return 0, fmt.Errorf("sbatch: its output %q has no job number", out)
	}
	return job, nil
}

// queuedTask is a task that waits or runs.
type queuedTask struct {
	job, task     int
	state, reason string // PENDING, RUNNING, …; the reason for waiting
	dir           string // its working folder
}

// queueFormat is the format that readQueue parses. The folder is last because it may have any character.
const queueFormat = "%F|%K|%T|%r|%Z"

// listQueue returns this user's array tasks that wait or run.
func (c commands) listQueue(ctx context.Context) ([]queuedTask, error) {
	out, err := c.callCommand(ctx, "", "squeue", "--noheader", "--array", "--all", "--user="+strconv.Itoa(os.Getuid()),
		"--format="+queueFormat)
	if err != nil {
		return nil, err
	}
	return readQueue(out), nil
}

// readQueue parses the output of squeue. It skips jobs that are not arrays.
func readQueue(out string) (all []queuedTask) {
	for line := range strings.Lines(out) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 5)
		if len(word) < 5 {
			continue
		}
		job, err := strconv.Atoi(strings.TrimSpace(word[0]))
		if err != nil || job < 1 {
			continue
		}
		for _, task := range parseIndices(word[1]) {
			all = append(all, queuedTask{job, task, word[2], word[3], word[4]})
		}
	}
	return all
}

// maxIndices is above the number of tasks that an array can have.
const maxIndices = 1 << 22

// parseIndices parses array indices as Slurm writes them: 3, 4-7, 1,5-9:2%4. It returns nil for any other text.
func parseIndices(text string) (all []int) {
	text = strings.Trim(strings.TrimSpace(text), "[]")
	text, _, _ = strings.Cut(text, "%")
	for part := range strings.SplitSeq(text, ",") {
		part, step, stepped := strings.Cut(part, ":")
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, err := strconv.Atoi(low)
		b, bad := strconv.Atoi(high)
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		if err != nil || bad != nil || a < 0 || b < a || b >= maxIndices || by < 1 ||
			len(all)+(b-a)/by >= maxIndices {
			return nil
		}
		for i := a; i <= b; i += by {
			all = append(all, i)
		}
	}
	return all
}

// formatIndices formats indices as Slurm reads them: 1,4-7.
func formatIndices(all []int) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	var words []string
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		if k == i {
			words = append(words, strconv.Itoa(all[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", all[i], all[k]))
		}
		i = k + 1
	}
	return strings.Join(words, ",")
}

// listEnds returns how a job's tasks ended, by task index. Accounting keeps this permanently, if the cluster has it,
// and the controller for some minutes. It returns nil if neither has it.
func (c commands) listEnds(ctx context.Context, job int) map[int]string {
	out, err := c.callCommand(ctx, "", "sacct", "--jobs="+strconv.Itoa(job), "--allocations", "--noheader", "--parsable2",
		"--format=JobID,State,ExitCode")
	if all := readAccounts(out, job); err == nil && len(all) > 0 {
		return all
	}
	out, err = c.callCommand(ctx, "", "scontrol", "--oneliner", "show", "job", strconv.Itoa(job))
	if err != nil {
		return nil
	}
	return readControl(out, job)
}

// readAccounts parses the output of sacct, 12_3|FAILED|1:0, and returns how the tasks of a job ended, by index. It
// skips other lines.
func readAccounts(out string, job int) map[int]string {
	all := map[int]string{}
	for line := range strings.Lines(out) {
		word := strings.Split(strings.TrimSpace(line), "|")
		if len(word) != 3 {
			continue
		}
		id, index, ok := strings.Cut(word[0], "_")
		if n, err := strconv.Atoi(id); !ok || err != nil || n != job {
			continue
		}
		for _, i := range parseIndices(index) {
			all[i] = formatEnd(word[1], "", word[2])
		}
	}
	return all
}

// controlWord matches a key and value in the output of scontrol.
var controlWord = regexp.MustCompile(`(?:^| )(ArrayJobId|ArrayTaskId|JobState|Reason|ExitCode)=([^ ]*)`)

// readControl parses the output of scontrol show job, which has a line for each task, and returns how the tasks of a
// job ended, by index.
func readControl(out string, job int) map[int]string {
	all := map[int]string{}
	for line := range strings.Lines(out) {
		word := map[string]string{}
		for _, m := range controlWord.FindAllStringSubmatch(strings.TrimSuffix(line, "\n"), -1) {
			if _, ok := word[m[1]]; !ok { // later matches may be part of a command
				word[m[1]] = m[2]
			}
		}
		if word["ArrayJobId"] != strconv.Itoa(job) || word["JobState"] == "" {
			continue
		}
		for _, i := range parseIndices(word["ArrayTaskId"]) {
			all[i] = formatEnd(word["JobState"], word["Reason"], word["ExitCode"])
		}
	}
	return all
}

// formatEnd returns a short description of how a task ended: OUT_OF_MEMORY, or FAILED (exit code 2).
func formatEnd(state, reason, exit string) string {
	code, signal, _ := strings.Cut(exit, ":")
	var more []string
	if code != "" && code != "0" {
		more = append(more, "exit code "+code)
	}
	if signal != "" && signal != "0" {
		more = append(more, "signal "+signal)
	}
	if reason != "" && reason != "None" && reason != "NonZeroExitCode" {
		more = append(more, reason)
	}
	if len(more) == 0 {
		return state
	}
	return state + " (" + strings.Join(more, ", ") + ")"
}
