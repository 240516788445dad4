package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"A command (run), or several words of one (lab clean)."`
}

func (h *helpCmd) Run(ctx *kong.Context) error {
	_, err := ctx.Kong.Parse(append(h.Command, "--help"))
	return err
}

// enums are the lists of words that tags refer to as ${NAME}.
var enums = kong.Vars{
	"listed":  "experiments,schemes,measures,workloads,topologies,formats,warnings",
	"benches": "engine,sim,tcp,switch,clock,scale,threads,peers,page",
}

// helpTexts are long help texts that tags refer to as ${NAME}.
var helpTexts = map[string]string{
	"switchSupervisor": "What a switch's process becomes.",
	"switchDataplane":  "The process of a switch's data plane.",
	"docsPage": "A page, as its Markdown: spec; or a part of one: spec#expect. Without it, and without --site, the " +
		"pages are listed.",
	"docsSite": "Folder to write all pages into as a site, with a search; it needs no server. It must be new, empty, or " +
		"have such a site, which is written over.",
	"diffA": "Results folder, or an experiment that was run; or a fct.txt of the HPCC simulator, whose flows " +
		"are compared with the other side's by bins of size.",
	"diffTolerance": "With a fct.txt: how far a bin's median slowdown may be from that of the other side; " +
		"off: it is not judged.",
	"diffUnpaired": "With a fct.txt: the largest share of flows that only one side has. Without it they are the same " +
		"flows.",
	"plotNumber": "The experiment's plot of this number, changed by what else is given. Default: all, without --x, --y " +
		"and --z.",
	"schemaOf": "Of experiment files; results: of all files of a results folder; or of one of them: runs.json, run.json " +
		"(runs/<id>.json), origin.json, host.json, flows.parquet, series.parquet, timeline.parquet, " +
		"trace.parquet (a row).",
	"diffPort": "With a fct.txt: only flows to this destination port (100, or 200 of incasts).",
	"showName": "An experiment of the library (weir list), a file, or - for standard input; or a scheme, a measure, a " +
		"workload, a format or the identifier of a warning (weir list schemes, measures, workloads, formats, warnings).",
	"selectionSet": "Change the spec: duration=300s, traffic.client1.rate=20Mbps; a sweep key is fixed to a " +
		"value.",
	"listWhat": "experiments, schemes, measures, workloads, topologies, formats of weir import and export, or warnings.",
	"checkOn": "World to check it for: sim, or lab: what this machine's kernel lacks, and whether it is too " +
		"large.",
	"runOn": "World to run in: sim, or lab: real packets between this machine's own TCP stacks, and sim " +
		"beside it.",
	"tableFormat": "Form of tables: text, markdown, or latex, which needs the package booktabs.",
	"tableColumns": "Show these alone, in this order: goodput, goodput.client0, or a pattern with *. Commas stand " +
		"between them.",
	"tableSort":  "Sort by a key of the sweep or by a value (goodput.client0); with :desc the largest first.",
	"tableColor": "Colours: auto, on a terminal unless NO_COLOR is set; always; never.",
	"runVerify": "Workers: which results are made again and compared: sample, the first of each worker and one in 50; " +
		"or all, also the first of each worker at each point, which is made again here.",
	"runWorkers": "Have workers carry out runs, and this machine too: start a server for them at this address and port, " +
		"and write a file that weir worker joins with. Beyond loopback it is encrypted.",
	"serveFiles": "Experiments beside those of the library: files, which are read anew whenever the page shows them.",
	"serveListen": "Address and port to listen at. Beyond loopback nothing is encrypted: ssh -L is safer. Port 0 takes " +
		"any that is free.",
	"serveHost": "A name under which browsers may ask for the server, beside addresses, localhost and this host's name.",
	"runRunner": "Where runs of the simulator are carried out: local, on this machine, or slurm, by a cluster whose " +
		"machines see --out.",
	"slurmOption": "Slurm: an option for sbatch, as partition=short, account=NAME or exclusive; given, time and mem " +
		"replace the estimates.",
	"slurmTask":  "Slurm: how long a task takes about, by the estimate: short runs share one.",
	"slurmTasks": "Slurm: tasks at most; clusters allow 1000 unless they say otherwise (MaxArraySize).",
	"slurmAnyProgram": "Allow another weir than the one that wrote the folder: results may have other bytes, and are " +
		"taken for that one's.",
	"runThreads": "Threads that carry out a run in the simulator: auto, as many as there are cores for each run at a " +
		"time, and one while that is faster; or a number. They change speed only.",
	"runTrace": "Ports (s1->server, or a pattern with *) whose packets are traced in every run, into traces/ " +
		"of the results folder: pcapng, Parquet and text.",
	"resultsList": "List results, the newest first: options, when, verdicts, program, folder.",
	"runTraceFormat": "Forms that traces are kept in: pcapng, parquet, text; all if it is not given. Their size is said " +
		"before they are made.",
	"runTraceSnap": "Bytes of each frame in pcapng; headers and the beginning of the payload if it is not given.",
	"benchHosts":   "Sizes of scale: 16, 128, 1024, 8192, 65536; all but the last if it is not given.",
	"benchDocs":    "Page whose block of figures scale, threads and peers rewrite, with pictures beside it.",
	"benchProfile": "Folder for CPU profiles: of the process or, of switch, of its data planes.",
	"benchRuns":    "Interleaved runs of switch, clock, scale and threads, rounds of page; 5 if it is not given.",
	"benchTime":    "How long a flow of switch or clock is measured; 2s if it is not given.",
	"benchWhat": "Packet-hops per second: engine, of the event loop; sim, the same traffic with RDMA and " +
		"HPCC++; tcp, with TCP and CUBIC. scale: time and memory of 16 to 65,536 hosts; threads: one run on several; " +
		"peers: Debian's ns-3 beside it. page: first paint of weir serve's with 10,000 results, in Chromium. " +
		"Or, as root, switch: the lab's data plane between two kernels, unshaped and shaped; clock: kinds of scheduling.",
	"labCapture": "Lab: switches whose input and output every run captures, into captures/ of the results " +
		"folder, and replays through the simulator's: both must give the same bytes. hosts: so are those of Weir's own.",
	"check": "Exit with 3 if a claim fails or the lab differs from the simulator, and with 4 if neither does " +
		"and a claim, or the agreement, is undecided.",
	"labGenerator": "Lab: what sends and receives: weir, or iperf3, to compare with.",
	"labScheduling": "Lab: what must be punctual is an ordinary thread of niceness -20 (nice), SCHED_FIFO on all " +
		"processors but the first (fifo), SCHED_DEADLINE (deadline), or has processors of its own (core).",
	"mergeDirs": "Results folders of one experiment, as weir run leaves them; they may have other seeds, and parts of " +
		"the runs.",
	"mergeInto": "Folder that the merged results folder goes into, as --out of weir run; what is there is extended.",
	"mergeRevisions": "Programs whose runs may be together: same, those of one; any, whose report says which run is of " +
		"which.",
	"labClean":       "Remove namespaces and interfaces of labs that have died. Running labs keep theirs.",
	"labDataplaneID": "What the run is, as its lab knows it: it must be the same here. Empty: whatever it is.",
	"importConfig":   "A configuration (config.txt of the HPCC simulator); the files that it names are read, too.",
	"importOut":      "File that the experiment is written to, instead of standard output; it must not exist.",
}

// insertHelpTexts replaces the references to helpTexts. They are not kong.Vars, because kong interpolates all
// variables again for each flag, which slows the start down.
func insertHelpTexts(k *kong.Kong) error {
	insert := func(help string) string {
		name, named := strings.CutPrefix(help, "${")
		if text, known := helpTexts[strings.TrimSuffix(name, "}")]; named && known {
			return text
		}
		return help
	}
	return kong.Visit(k.Model.Node, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Node:
			node.Help = insert(node.Help)
		case *kong.Value:
			node.Help = insert(node.Help)
		}
		return next(nil)
	})
}
