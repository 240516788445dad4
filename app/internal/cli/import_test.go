package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/study/interop/simfiles"
)

// TestFromSimulatorToSimulator checks the path of a researcher who comes from the HPCC simulator: import, run,
// export. It goes from a config.txt with its topology and flows to a fct.txt.
func TestFromSimulatorToSimulator(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("mix", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.txt": "PACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE " +
			"mix/flow.txt\nSIMULATOR_STOP_TIME 2.01\nCC_MODE 1\nHAS_WIN 0\nENABLE_TRACE 0\n" +
			"KMIN_MAP 1 100000000000 400\nKMAX_MAP 1 100000000000 1600\nPMAX_MAP 1 100000000000 0.2\n" +
			"BUFFER_SIZE 1\nQLEN_MON_FILE mix/qlen.txt\nQLEN_MON_END 2000100000\nL2_BACK_TO_ZERO 1\n",
		// as in the public file: more hosts than its first line declares
		"topology.txt": "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 100Gbps 0.001ms 0\n0 4 " +
			"100Gbps 0.001ms 0\n",
		"flow.txt": "2\n2 1 3 100 2000000 2\n3 1 3 100 2000000 2.000001\n4 1 3 100 2000000 2\n",
	} {
		if err := os.WriteFile(filepath.Join("mix", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(Registry(), args, &out, &errs, false)
		return code, out.String(), errs.String()
	}
	if code, _, errs := run("import", "mix/config.txt", "--out", "mine.yaml"); code != command.Done ||
		!strings.Contains(errs,
			"warning: mix/config.txt:14:17: L2_BACK_TO_ZERO 1 has no counterpart: a gap") {
		t.Fatal(errs)
	}
	data, err := os.ReadFile("mine.yaml")
	if err != nil || !bytes.Contains(data, []byte("rest: ignored")) ||
		!bytes.Contains(data, []byte("file: mix/flow.txt")) {
		t.Fatalf("%v\n%s", err, data)
	}
	if code, out, _ := run("import", "mix/config.txt"); code != command.Done || out != string(data) {
		t.Errorf("to standard output:\n%s", out)
	}
	if code, _, errs := run("import", "mix/config.txt", "-o", "mine.yaml"); code != command.WrongInput ||
		!strings.Contains(errs, "mine.yaml exists already") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := run("import", "mix/flow.txt"); code != command.WrongInput ||
		!strings.Contains(errs, "mix/flow.txt:1:1: unknown key \"2\"") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, out, errs := run("run", "mine.yaml"); code != command.Done {
		t.Fatal(out, errs)
	}
	if code, _, errs := run("export", "mine.yaml", "--offset", "-1s"); code != command.WrongInput {
		t.Errorf("exit %d: %s", code, errs)
	}
	code, out, errs := run("export", "mine.yaml", "--into", "exported", "--bins", "1")
	if code != command.Done || !strings.Contains(out, "2 flows to port 100") || strings.Contains(out, "pfc.txt:") {
		t.Fatal(out, errs)
	}
	exportedFlows(t)
	exportedQueues(t)
	// The exported flows equal those that the simulator got.
	if text := exported(t, "flow.txt"); text != "2\n2 1 3 100 2000000 2.000000000000\n3 1 3 100 2000000 2.000001000000\n" {
		t.Errorf("flow.txt is\n%s", text)
	}
}

// exportedFlows checks fct.txt: 2 MB in 2000 packets with 48 B of headers at 100 Gb/s, and 4 us + 2·80 ns.
func exportedFlows(t *testing.T) {
	t.Helper()
	flows, err := simfiles.ReadFCT(strings.NewReader(exported(t, "fct.txt")), "fct.txt")
	if err != nil || len(flows) != 2 {
		t.Fatal(flows, err)
	}
	for _, f := range flows {
		if f.Dst != 1 || f.SrcPort != simfiles.FirstPort || f.DstPort != simfiles.NormalPort || f.Start < 2e9 ||
			f.Standalone != 4160+2000*1048*8/100 || f.FCT < f.Standalone {
			t.Errorf("%+v", f)
		}
	}
}

// exportedQueues checks pfc.txt and qlen.txt: 4 MB at once meet a buffer of 1 MiB, which pauses. Queues cover the
// 100 us of the configuration.
func exportedQueues(t *testing.T) {
	t.Helper()
	pauses, err := simfiles.ReadPFC(strings.NewReader(exported(t, "pfc.txt")), "pfc.txt")
	if err != nil || len(pauses) < 2 || pauses[0].Switch || !pauses[0].Pause || pauses[0].Time < 2e9 {
		t.Errorf("%v, %d pauses: %+v", err, len(pauses), pauses[:min(len(pauses), 2)])
	}
	queues, err := simfiles.ReadQueues(strings.NewReader(exported(t, "qlen.txt")), "qlen.txt")
	if err != nil || len(queues) != 1 || len(queues[0].Ports) != 3 {
		t.Fatal(err, queues)
	}
	for _, q := range queues[0].Ports {
		n := uint64(0)
		for _, c := range q.Counts {
			n += c
		}
		if long := len(q.Counts) > 200; q.Switch != 0 || n != 1000 || long != (q.Port == 1) {
			t.Errorf("port %d has %d samples of up to %d kB", q.Port, n, len(q.Counts))
		}
	}
}

// exported returns a file of the single exported run.
func exported(t *testing.T, name string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("exported", "*", name))
	if len(files) != 1 {
		t.Fatalf("%s: %q", name, files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
