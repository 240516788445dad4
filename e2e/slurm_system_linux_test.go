//go:build system

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
)

// cluster is a Slurm cluster of one machine in separate namespaces: munged, slurmctld and slurmd as in Debian.
type cluster struct {
	t   *testing.T
	dir string
	net string // its network namespace
}

// clusterScript starts the daemons, and ends them when its standard input closes, for any end of the test.
const clusterScript = `ip link set lo up && ip addr add 10.255.255.1/32 dev lo || exit
export SLURM_CONF="$DIR/slurm.conf"
munged --foreground --force --key-file="$DIR/key" --socket="$DIR/munge" --pid-file="$DIR/munged.pid" \
	--log-file="$DIR/munged.log" --seed-file="$DIR/seed" --num-threads=1 >"$DIR/munged.out" 2>&1 &
slurmctld -D -i >"$DIR/slurmctld.out" 2>&1 &
slurmd -D -N localhost >"$DIR/slurmd.out" 2>&1 &
cat >/dev/null
`

const clusterConfig = `ClusterName=weir
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=DIR/munge,cred_expire=5
CredType=cred/munge
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd.pid
SlurmctldLogFile=DIR/slurmctld.log
SlurmdLogFile=DIR/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
KillWait=2
NodeName=localhost CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// startCluster starts a cluster, or skips the test if a program is missing.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	for tool, debian := range map[string]string{"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge",
		"sbatch": "slurm-client", "squeue": "slurm-client", "scontrol": "slurm-client", "unshare": "util-linux",
		"nsenter": "util-linux", "ip": "iproute2"} {
		testkit.RequireProgram(t, tool, debian)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a cluster is in namespaces")
	}
	c := &cluster{t: t, dir: t.TempDir()}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("slurm.conf", strings.ReplaceAll(clusterConfig, "DIR", c.dir))
	write("key", strings.Repeat("no secret: it is of this test. ", 40))
	for _, name := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(c.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child=KILL", "sh", "-c",
		clusterScript)
	cmd.Env = append(os.Environ(), "DIR="+c.dir)
	life, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.logs()
		}
		life.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	c.net = fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)
	await.AwaitCondition(t, "a machine that is idle", func() bool {
		out, _ := c.command("", "sinfo", "--noheader", "--format=%T").Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return c
}

// logs prints the logs of the daemons.
func (c *cluster) logs() {
	for _, name := range []string{"slurmctld.log", "slurmd.log", "munged.out"} {
		data, _ := os.ReadFile(filepath.Join(c.dir, name))
		c.t.Logf("%s: %s", name, data[max(0, len(data)-3000):])
	}
}

// command returns a command that runs in the cluster's network namespace.
func (c *cluster) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--net=" + c.net, "--", name}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SLURM_CONF="+filepath.Join(c.dir, "slurm.conf"))
	return cmd
}

// runCommand runs a command of the cluster, which must succeed, and returns its output.
func (c *cluster) runCommand(dir, name string, args ...string) string {
	c.t.Helper()
	out, err := c.command(dir, name, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// start starts weir in the cluster's network namespace.
func (c *cluster) start(k killpoints, program string, args ...string) *await.Process {
	c.t.Helper()
	cmd := c.command("", program, args...)
	cmd.Env = append(cmd.Env, "WEIR_GRACE=long", "WEIR_KILLPOINTS="+k.folder)
	return await.Start(c.t, cmd)
}

// drained waits until the queue is empty.
func (c *cluster) drained() {
	c.t.Helper()
	await.AwaitCondition(c.t, "an empty queue", func() bool {
		out, err := c.command("", "squeue", "--noheader").Output()
		return err == nil && len(bytes.TrimSpace(out)) == 0
	})
}

// process waits for the held process of a task of a folder, and returns its process id.
func (c *cluster) process(dir string, task int) (pid int) {
	c.t.Helper()
	want := fmt.Sprintf("task\x00.\x00--index\x00%d\x00", task)
	await.AwaitCondition(c.t, fmt.Sprint("task ", task), func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range all {
			data, err := os.ReadFile(name)
			at, bad := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
			if err == nil && bad == nil && at == dir && strings.Contains(string(data), want) {
				fmt.Sscan(filepath.Base(filepath.Dir(name)), &pid)
				return true
			}
		}
		return false
	})
	return pid
}

// twelve has twelve runs. The largest ones take about a second.
const twelve = `title: twelve
duration: 30s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Gbps, delay: 1ms}, {ends: [s, b], rate: 1Gbps, delay: 1ms}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s}]
sweep: {rate: [100Mbps, 120Mbps, 140Mbps, 700Mbps]}
repeat: 3
measure: [goodput]
`

func finishedRuns(dir string) int {
	runs, _ := filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, "[", `\[`, "*", `\*`, "?", `\?`).Replace(dir),
		"runs", "*.json"))
	return len(runs)
}

// TestSlurmExport submits a sweep by hand, in a folder with special characters in its name. One of its tasks is
// killed, one is cancelled and one is requeued. weir collect reports the missing runs with the reasons and a
// command. After this command, the results have the bytes of a local sweep.
func TestSlurmExport(t *testing.T) {
	c, binary, file := startCluster(t), killpointsProgram(t), writeSpec(t, twelve)
	good, out, dir := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), `it's "a" $HOME; *|é`)
	if text, err := exec.Command(binary, "run", file, "--out", good).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text := c.runCommand("", binary, "export", "slurm", file, "--to", dir, "--slurm-task", "100ms", "--slurm-option",
		`comment=it's "so" # \ here`)
	if !strings.Contains(text, "sweep.sbatch: 12 runs in 12 tasks") {
		t.Fatal(text)
	}
	k := planKillpoints(t, "hold after claim runs/*.json 1") // of each task
	c.runCommand(dir, "env", "WEIR_KILLPOINTS="+k.folder, "sbatch", "sweep.sbatch")
	killed := c.process(dir, 1)
	c.process(dir, 2)
	text = c.runCommand(dir, "squeue", "--noheader", "--array", "--format=%k")
	if !strings.Contains(text, `it's "so" # \ here`) {
		t.Errorf("the comment is %q", text)
	}
	c.runCommand(dir, "scancel", "1_11")
	c.runCommand(dir, "scontrol", "requeue", "1_2")
	syscall.Kill(killed, syscall.SIGKILL)
	k.release(t)
	c.drained()
	collect := func() (string, int) {
		cmd := c.command("", binary, "collect", dir, "--out", out)
		text, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(text), cmd.ProcessState.ExitCode()
	}
	said, code := collect()
	for _, want := range []string{"2 runs are missing",
		"task 1 of job 1 has ended without 1 of its runs: FAILED (signal 9",
		"not started: the tasks of 1 missing run", "sbatch --array=1,11 sweep.sbatch"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if code != 1 || t.Failed() {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log", "1_2.txt")); err != nil ||
		!strings.Contains(string(log), "DUE TO JOB REQUEUE") || !strings.Contains(string(log), "is finished") {
		t.Errorf("the task that was begun again: %v\n%s", err, log)
	}
	c.runCommand(dir, "sbatch", regexp.MustCompile(`--array=\S+`).FindString(said), "sweep.sbatch")
	c.drained()
	if said, code = collect(); code != 0 || strings.Contains(said, "notice") {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	if err := same(tree(good), tree(out)); err != nil {
		t.Error(err)
	}
}

// TestSlurmRunner checks that weir run --runner slurm submits a sweep, and writes the same files as a local one. An
// interrupted command leaves the tasks in the queue, and the same command follows them without a new submission.
// The runs of a cancelled task are missing, and the same command submits them once more.
func TestSlurmRunner(t *testing.T) {
	c, program, file := startCluster(t), killpointsProgram(t), writeSpec(t, twelve)
	good, out := t.TempDir(), t.TempDir()
	if text, err := exec.Command(program, "run", file, "--out", good).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	arguments := []string{"run", file, "--out", out, "--runner", "slurm", "--slurm-task", "100ms"}
	k := planKillpoints(t, "hold before remove failed/* 1") // each task, when its run is finished
	p := c.start(k, program, arguments...)
	var folder string
	p.AwaitCondition("a finished run", func() bool {
		all, _ := filepath.Glob(filepath.Join(out, "*", "slurm", "1"))
		if len(all) == 1 {
			folder = all[0]
		}
		return folder != "" && finishedRuns(filepath.Dir(filepath.Dir(folder))) > 0
	})
	p.Signal(syscall.SIGINT)
	endInterrupted(t, p)
	if text := p.Stderr(); !strings.Contains(text, "notice: job 1: 12 tasks of slurm/1\n") ||
		!strings.Contains(text,
			"continues on the cluster, and the same command collects its results; scancel 1 stops it\n") ||
		!strings.Contains(text, "interrupted: ") {
		t.Errorf("it prints %s", text)
	}
	c.runCommand("", "scontrol", "hold", "1_11")
	k.release(t)
	p = c.start(planKillpoints(t, ""), program, arguments...)
	p.AwaitCondition("all runs but the one that Slurm holds", func() bool {
		return finishedRuns(filepath.Dir(filepath.Dir(folder))) == 11
	})
	p.AwaitLine("notice: job 1 waits: JobHeldAdmin")
	c.runCommand("", "scancel", "1_11")
	code := p.AwaitExit()
	if text := p.Stderr(); code != 1 || strings.Contains(text, "12 tasks") ||
		!strings.Contains(text, "task 11 of job 1 has ended without 1 of its runs: CANCELLED") ||
		!strings.Contains(p.Stdout(), "1 run is missing") {
		t.Errorf("exit code %d: %s", code, p.Output())
	}
	p = c.start(planKillpoints(t, ""), program, arguments...)
	if code := p.AwaitExit(); code != 0 || !strings.Contains(p.Stderr(), ": 1 task of slurm/") {
		t.Errorf("exit code %d: %s", code, p.Output())
	}
	if err := same(tree(good), tree(out)); err != nil { // the sweep has left no other files
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", filepath.Dir(folder), err)
	}
}
