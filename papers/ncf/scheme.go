package ncf

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is what an experiment names: queues: 3, scheduler: ncf, programs: [ecmp, ncf].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{
			Name: "ncf", Doc: "network-assisted congestion feedback: elephants by rolling sketches, queues for control, mice " +
				"and elephants, memory on demand, NACKs straight to senders", Source: "Feldmann et al. BS'19",
			Params: []scheme.Param{
				{Name: "windows", Kind: scheme.Int, Default: "4", Min: "1", Max: "15", Doc: "n: windows of the rolling sketch",
					Source: "ours; BS'19 §4.1 has three in figure 2"},
				{Name: "duration", Kind: scheme.Duration, Default: "10ms", Min: "1us", Max: "60s",
					Doc: "d of a window; n·d should exceed a multiple of the round-trip time", Source: "ours; BS'19 §4.4"},
				{Name: "count", Kind: scheme.Text, Words: []string{"bytes", "packets"}, Default: "bytes",
					Doc: "what the sketch counts", Source: "ours; packets: BS'19 §4.1"},
				{Name: "epsilon", Kind: scheme.Share, Default: "1%",
					Doc:    "the sketch's error as a share of a window's total; its width is e/epsilon",
					Source: "ours; Cormode, Muthukrishnan 2005"},
				{Name: "delta", Kind: scheme.Share, Default: "1%", Doc: "how often the error is larger; its depth is ln(1/delta)",
					Source: "ours; Cormode, Muthukrishnan 2005"},
				{Name: "counter_bits", Kind: scheme.Int, Default: "32", Min: "8", Max: "32",
					Doc: "of a counter, which stays at its largest value", Source: "ours"},
				{Name: "sketch", Kind: scheme.Text, Words: []string{PerPort, PerSwitch}, Default: PerPort,
					Doc: "whose traffic a flow's share is of", Source: "ours; BS'19 §4.1: total traffic"},
				{Name: "elephants", Kind: scheme.Text, Words: formNames[:], Default: "average",
					Doc:    "how windows are judged: share of all together, mean of the shares, one, all",
					Source: "BS'19 §4.1 and footnote 1"},
				{Name: "threshold", Kind: scheme.Share, Default: "5%", Max: "100%", Doc: "an elephant has more than this share",
					Source: "BS'19 §4.1"},
				{Name: "least", Kind: scheme.Size, Default: "30kB", Doc: "and so much in all windows at the least",
					Source: "ours: beyond what slow start sends first; BS'19 has none"},
				{Name: "floor", Kind: scheme.Size, Default: "15kB",
					Doc: "with any, all and mean_of_shares: least traffic of a window that is judged", Source: "ours"},
				{Name: "memory", Kind: scheme.Length, Default: "0 B", Doc: "that there is; 0 B: what the ports' buffers hold",
					Source: "ours"},
				{Name: "pool", Kind: scheme.Text, Words: []string{PerPort, PerSwitch}, Default: PerPort, Doc: "whose memory it is",
					Source: "ours; BS'19 §4.2 says the switch's, §2 per port"},
				{Name: "limit", Kind: scheme.Share, Default: "95%", Max: "100%",
					Doc: "of the memory that mice and elephants may use", Source: "BS'19 §4.2"},
				{Name: "control", Kind: scheme.Share, Default: "5%", Max: "100%",
					Doc: "of the memory that is reserved for control packets", Source: "BS'19 §4.2"},
				{Name: "mice", Kind: scheme.Share, Default: "10%", Max: "100%", Doc: "that is reserved for mice",
					Source: "BS'19 §4.2"},
				{Name: "reserve", Kind: scheme.Share, Default: "10%", Max: "100%", Doc: "that is reserved for elephants",
					Source: "BS'19 §4.2"},
				{Name: "tilt", Kind: scheme.Share, Default: "50%", Max: "100%",
					Doc:    "share of mice in what is not reserved, when memory is the bottleneck",
					Source: "ours; BS'19 §4.4: towards mice for incast"},
				{Name: "spike", Kind: scheme.Share, Default: "25%", Max: "100%",
					Doc:    "share of n·d in which mice may go beyond it, down to the elephants' reservation",
					Source: "ours; BS'19 §4.4: a short time period"},
				{Name: "congested", Kind: scheme.Share, Default: "95%", Max: "100%",
					Doc:    "use of the memory at which congestion begins; also when something finds no room",
					Source: "ours; BS'19 §4.3: lack of available memory"},
				{Name: "calm", Kind: scheme.Share, Default: "50%", Max: "100%", Doc: "use below which it ends",
					Source: "ours; BS'19 §4.4: until the load decreases"},
				{Name: "nack", Kind: scheme.Text, Words: []string{NackAll, NackElephants, NackNone}, Default: NackAll,
					Doc: "whose senders are told of packets that found no room", Source: "all: BS'19 §4.3; elephants: §5"},
				{Name: "coalesce", Kind: scheme.Duration, Default: "0s", Max: "1s",
					Doc:    "how long a NACK waits for further packets of its flow to be gone",
					Source: "BS'19 §4.3: they are not combined"},
				{Name: "signed", Kind: scheme.Bool, Default: "false", Doc: "NACKs say which switch sends them", Source: "BS'19 §5"},
				{Name: "udp", Kind: scheme.Bool, Default: "false",
					Doc: "UDP is answered by NACKs, too: for udp_controlled; nobody else knows them", Source: "ours"},
				{Name: "acks", Kind: scheme.Text, Words: []string{"control", "mice"}, Default: "control",
					Doc: "which queue is that of packets without payload", Source: "ours; BS'19 §4.2: control packets"},
				{Name: "top", Kind: scheme.Int, Default: "20", Min: "0", Max: "1024",
					Doc:    "N: so many elephants of a port are told during congestion; 0: only those whose packets find no room",
					Source: "BS'19 §4.4"},
				{Name: "every", Kind: scheme.Duration, Default: "0s", Doc: "each at most once so often; 0s: once a window",
					Source: "ours"},
				{Name: "early", Kind: scheme.Share, Default: "0%", Max: "100%",
					Doc:    "elephants that send are told when their packets use this share of the memory; 0%: not",
					Source: "ours; Fathalli et al., TNSM 2026: the elephants' queue"},
				{Name: "target", Kind: scheme.Share, Default: "95%", Max: "100%",
					Doc: "share of a port's rate that is offered to mice and elephants", Source: "ours, as HPCC's eta"},
				{Name: "supply", Kind: scheme.Text, Words: []string{"equal", "max_min"}, Default: "equal",
					Doc: "what NACKs offer: the same for each elephant, or with what others do not use", Source: "ours"},
				{Name: "change", Kind: scheme.Text, Words: []string{"at_once", "flowlet"}, Default: "at_once",
					Doc: "when a flow that becomes an elephant, or a mouse, changes its queue: with its next packet, or when its " +
						"packets have left the other", Source: "ours"},
				{Name: "change_wait", Kind: scheme.Duration, Default: "0s",
					Doc: "flowlet: it changes at the latest after this; 0s: a window", Source: "ours"},
			},
		},
		NeedsNetwork: dataplane.Always(dataplane.NotifiesHosts),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			c, err := configOf(v)
			if err != nil {
				return nil, fmt.Errorf("ncf: %w", err)
			}
			g, err := New(site, c)
			if err != nil {
				return nil, err
			}
			return g, nil
		},
	}
}

// configOf reads the parameters.
func configOf(v scheme.Values) (Config, error) {
	width, depth, err := Dimensions(v.Float("epsilon"), v.Float("delta"))
	if err != nil {
		return Config{}, err
	}
	form, err := FormByName(v.Text("elephants"))
	if err != nil {
		return Config{}, err
	}
	d, memory, packets := v.Time("duration"), v.Length("memory"), v.Text("count") == "packets"
	traffic := func(name string) uint64 {
		n := uint64(v.Bytes(name))
		if packets { // full frames
			n = (n + defaultFrame - 1) / defaultFrame
		}
		return n
	}
	c := Config{
		Sketch: SketchConfig{Windows: v.Int("windows"), Duration: d, Width: width, Depth: depth, Packets: packets,
			Bits: v.Int("counter_bits")},
		Scope: v.Text("sketch"), Detector: Detector{Form: form, Threshold: v.Float("threshold"), Least: traffic("least"),
			Floor: traffic("floor")},
		Pool: v.Text("pool"), Memory: MemoryConfig{Size: memory.Bytes, Packets: int(memory.Packets), Limit: v.Float("limit"),
			Reserved: [Classes]float64{Control: v.Float("control"), Mice: v.Float("mice"), Elephants: v.Float("reserve")},
			Tilt:     v.Float("tilt"), Spike: v.Float("spike"), Congested: v.Float("congested"), Calm: v.Float("calm")},
		Nack: v.Text("nack"), Signed: v.Bool("signed"), Coalesce: v.Time("coalesce"), UDP: v.Bool("udp"), Acks: Control,
		Top: v.Int("top"), Every: orWindow(v.Time("every"), d), Early: v.Float("early"), Target: v.Float("target"),
		MaxMin:  v.Text("supply") == "max_min",
		Flowlet: v.Text("change") == "flowlet", Wait: orWindow(v.Time("change_wait"), d),
	}
	if v.Text("acks") == "mice" {
		c.Acks = Mice
	}
	return c, nil
}

// orWindow is t, or a window where nothing is given.
func orWindow(t, window unit.Time) unit.Time {
	if t == 0 {
		return window
	}
	return t
}
