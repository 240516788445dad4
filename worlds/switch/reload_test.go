package softswitch_test

import (
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/unit"
	softswitch "weir/worlds/switch"
)

// reloadPorts are the queues and schedulers that programs need, and reloadSteps the rates and buffers of a series
// of reloads: down and up again, none, in packets, and with a change of one port only.
var (
	reloadPorts = []string{"", "queues: 2", "queues: 3\nscheduler: ncf",
		"queues: 16\nscheduler: calendar", "scheduler: least", "queues: 2\nscheduler: {deadline: {step: 20ms}}"}
	reloadSteps = [][4]string{ // rate and buffer of a, rate and buffer of b
		{"20Mbps", "100 packets", "20Mbps", "100 packets"},
		{"100bps", "100 packets", "100bps", "100 packets"},
		{"20Mbps", "100 packets", "20Mbps", "100 packets"},
		{"20Mbps", "100 packets", "1kbps", "10 packets"},
		{"20Mbps", "100 packets", "10kbps", "100 packets"},
		{"1Gbps", "1MB", "3Mbps", "1MB"},
		{"1Gbps", "none", "400Gbps", "none"},
		{"none", "none", "none", "none"},
		{"1000pps", "100 packets", "1000pps", "100 packets"},
		{"1bps", "1 packets", "200Mbps", "1514 B"},
		{"200Mbps", "1514 B", "1bps", "1GB"},
		{"2Mbps", "none", "1Mpps", "1 packets"},
	}
	reloadEnds = [][4]string{
		{"20Mbps", "100 packets", "20Mbps", "20 packets"},
		{"50Mbps", "1MB", "20Mbps", "60kB"},
	}
	// reloadParameters are parameters of programs in addition to their defaults.
	reloadParameters = map[string][]string{
		"telemetry": {"identity: 3", "format: int-md", "format: ioam", "format: ioam-gafni", "format: ifa", "format: ifa-ext",
			"format: int-md, t: 10ms"},
		"ncf": {"form: ece", "form: ece, round_trip: 20ms", "form: ece, round_trip: 20ms, senders: 50",
			"form: tcp_option, memory: 50kB", "form: ece, pool: switch", "nack: none"},
		"abc": {"q_min: 20 packets, q_base: 40 packets"},
		"ecn": {"kmin: 2 packets, kmax: 2 packets, pmax: 100%",
			"kmin: 15kB, kmax: 15kB, pmax: 100%, at_rate: 10Mbps, at: enqueue"},
		"pie": {"target: 5ms"}, "codel": {"target: 2ms, interval: 20ms"}, "red": {"min: 5 packets, max: 15 packets"},
		"p4te": {"paths: false, rate: enforced, classes: {0x00: high_throughput}, safe_high_throughput: 1%"},
		"plan": {"rates: {10.0.0.0/24: 5Mbps}"},
		"loss": {"probability: 5%"}, "input": {"capacity: 10.8kpps, ring: 64 packets", "capacity: 1kpps"},
	}
)

// reloadFile returns a switch file with a program of the given parameters. A rate or buffer "none" is left out.
func reloadFile(program, ports string, step [4]string) string {
	port := func(rate, buffer string) (text string) {
		if rate != "none" {
			text += ", rate: " + rate
		}
		if buffer != "none" {
			text += ", buffer: " + buffer
		}
		return text
	}
	list := "[forward, {" + program + "}]"
	if strings.HasPrefix(program, "forward:") {
		list = "[{" + program + "}]"
	}
	return "ports:\n  a: {interface: a0" + port(step[0], step[1]) + "}\n  b: {interface: b0" + port(step[2], step[3]) +
		"}\nswitch: " + list + "\nmetrics: none\n" + ports + "\n"
}

// TestReloadAnyRate reloads switches with each registered program through changes of rates and buffers. Every valid
// file is accepted, and the switch then behaves like a new one with the last file.
func TestReloadAnyRate(t *testing.T) {
	registry := app.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	decode := func(text string) *softswitch.Config {
		c, err := softswitch.Decode(known, "switch.yaml", []byte(text))
		if err != nil {
			return nil
		}
		return c
	}
	names := []string{"forward"} // it is the switch's own
	for _, s := range known.Programs {
		names = append(names, s.Name)
	}
	for _, name := range names {
		tried := 0
		for _, p := range append([]string{""}, reloadParameters[name]...) {
			program, some := name+": {"+p+"}", 0
			for _, ports := range reloadPorts { // with its defaults a program is tried at all ports that it runs with
				if some > 0 && p != "" || decode(reloadFile(program, ports, reloadSteps[0])) == nil {
					continue
				}
				tried++
				some++
				t.Run(program+" "+strings.ReplaceAll(ports, "\n", ", "), func(t *testing.T) {
					var series []*softswitch.Config
					for _, step := range reloadSteps {
						if c := decode(reloadFile(program, ports, step)); c != nil {
							series = append(series, c)
						}
					}
					for _, end := range reloadEnds {
						last := decode(reloadFile(program, ports, end))
						if last == nil {
							continue
						}
						reloaded, fresh := softswitch.ReloadedAsFresh(t, append(slices.Clone(series), last), 20*unit.Mbps)
						if reloaded != fresh {
							t.Errorf("to %v after %d files: reloaded\n%s\nfresh\n%s", end, len(series), reloaded, fresh)
						}
					}
				})
			}
		}
		if tried == 0 && standsAlone(known, name) {
			t.Errorf("%s runs in a switch on its own, but not with the parameters and ports of this test", name)
		}
	}
}

// standsAlone reports whether a program is not refused as one that needs a network.
func standsAlone(known softswitch.Schemes, name string) bool {
	_, err := softswitch.Decode(known, "switch.yaml", []byte(reloadFile(name+": {}", "", reloadSteps[0])))
	return err == nil || !strings.Contains(err.Error(), name+" is not available in a standalone switch: ")
}

// TestReloadStorm reloads a switch 200 times, every other time with a file that is refused: by the decoder, or
// because it changes a fixed property of a running switch. The others are all accepted, and a refused one leaves
// the switch unchanged.
func TestReloadStorm(t *testing.T) {
	registry := app.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	rates := []string{"100bps", "1kbps", "10kbps", "3Mbps", "20Mbps", "1Gbps"}
	const program = "telemetry: {identity: 3}"
	files := []string{reloadFile(program, "", reloadSteps[0])}
	for i := range 200 {
		file := func(rate string) string {
			return reloadFile(program, "", [4]string{"20Mbps", "100 packets", rate, "100 packets"})
		}
		switch r := rates[i*7%len(rates)]; i % 6 {
		case 1:
			files = append(files, file("0bps"))
		case 3:
			files = append(files, strings.Replace(file(r), "interface: b0", "interface: b1", 1))
		case 5:
			files = append(files, file(r)+"queues: 2\n")
		default:
			files = append(files, file(r))
		}
	}
	files = append(files, reloadFile(program, "", reloadSteps[0]))
	accepted, got, want := softswitch.ReloadsAsFresh(t, known, files, 20*unit.Mbps)
	if got != want || accepted != 102 {
		t.Errorf("after %d of %d files: %s, want %s", accepted, len(files), got, want)
	}
}
