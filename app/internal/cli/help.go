package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"Command: one word (run), or several (lab clean)."`
}

// Run prints the help of a command, by parsing it with --help, which ends with a call of kong's Exit.
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
	"switchSupervisor": "Supervise the processes of a switch.",
	"switchDataplane":  "Run the data plane of a switch.",
	"docsPage": "Page to print as Markdown (spec), or a section of one (spec#expect). Default without --site: a " +
		"list of the pages.",
	"docsSite": "Folder to write all pages into, as a web site with search that needs no server. It must be new, " +
		"empty, or a site of weir docs, which is overwritten.",
	"diffA": "Results folder, name of an experiment that was run, or an fct.txt of the HPCC simulator. With an " +
		"fct.txt, the flows of both sides are compared in bins of flow size.",
	"diffTolerance": "With an fct.txt: max relative difference of a bin's median slowdown between the two sides; " +
		"off: not checked.",
	"diffUnpaired": "With an fct.txt: max share of flows that only one side has; 0%: both sides must have the same " +
		"flows.",
	"plotNumber": "Number of the experiment's plot to draw, from 1; the other flags change it. Default: all plots, " +
		"or a new one if --x, --y or --z is given.",
	"schemaOf": "Schema to print: experiment, of experiment files; results, of all files of a results folder; or " +
		"one of these files: runs.json, run.json (runs/<id>.json), origin.json, host.json, and a row of " +
		"flows.parquet, series.parquet, timeline.parquet or trace.parquet.",
	"diffPort": "With an fct.txt: only flows to this destination port (the HPCC simulator uses 100, and 200 for " +
		"incasts).",
	"showName": "Experiment (a name of the library, a file, or - for standard input), scheme, measure, workload, " +
		"format, or identifier of a warning. weir list prints the names.",
	"selectionSet": "Set a key of the experiment (duration=300s, traffic.client1.rate=20Mbps), or fix a sweep key " +
		"to one value. May be repeated.",
	"listWhat": "What to list: experiments, schemes, measures, workloads, topologies, formats (of weir import and " +
		"export) or warnings.",
	"checkOn": "World to check for: sim, the simulator; or lab, which also checks that this machine's kernel and " +
		"speed suffice.",
	"runOn": "World to run in: sim, the simulator; or lab, real packets between TCP stacks of this machine, " +
		"compared with sim.",
	"tableFormat": "Format of tables: text, markdown, or latex (needs the LaTeX package booktabs).",
	"tableColumns": "Columns to print, in this order, separated by commas: a measure (goodput), a measure and its " +
		"group (goodput.client0), or a pattern with *. Default: all.",
	"tableSort": "Key to sort rows by: a sweep key or a value (goodput.client0), ascending; with :desc appended, " +
		"descending.",
	"tableColor": "Use of colours: auto (on a terminal unless NO_COLOR is set), always or never.",
	"runVerify": "Workers: results that are computed twice and compared: sample, each worker's first result and " +
		"one in 50; all, also each worker's first result at each point, which this machine repeats.",
	"runWorkers": "Run on workers and on this machine: start a server for workers at this address and port, and " +
		"write the file for weir worker --join. Connections beyond loopback are encrypted.",
	"serveFiles": "Experiment files to show in addition to the library; the page rereads them at each request.",
	"serveListen": "Address and port to listen on; port 0: any free port. Connections beyond loopback are not " +
		"encrypted; ssh -L is safer.",
	"serveHost": "Additional host name that browsers may use for the server; addresses, localhost and this host's " +
		"name always work.",
	"runRunner": "Where simulations run: local, on this machine; slurm, on a Slurm cluster that shares the folder " +
		"--out.",
	"slurmOption": "Slurm: option for sbatch, such as partition=short, account=NAME or exclusive; time and mem " +
		"replace the estimates. May be repeated.",
	"slurmTask":  "Slurm: estimated duration of a task; short runs share a task.",
	"slurmTasks": "Slurm: max number of tasks; clusters allow 1000 by default (MaxArraySize).",
	"slurmAnyProgram": "Accept a folder that another build of weir wrote. The results may differ in bytes, and are " +
		"recorded as that build's.",
	"runThreads": "Threads of one run in the simulator: a number, or auto, which divides the cores among the " +
		"concurrent runs and uses one thread where that is faster. Threads affect the speed only.",
	"runTrace": "Ports (s1->server, or a pattern with *) at which every run traces packets. The traces go into " +
		"traces/ of the results folder.",
	"resultsList": "List results folders, newest first, with options, time, verdicts and program.",
	"runTraceFormat": "Formats of traces: pcapng, parquet and text. Default: all. The estimated size is printed " +
		"before the runs start.",
	"runTraceSnap": "Bytes of each frame to keep in pcapng. Default: the headers and the beginning of the payload.",
	"benchHosts":   "Network sizes of scale, in hosts: 16, 128, 1024, 8192, 65536. Default: all but the last.",
	"benchDocs":    "Markdown page to update with the figures of scale, threads and peers; the pictures go next to it.",
	"benchProfile": "Folder for CPU profiles: of the process, or of the data planes of switch.",
	"benchRuns":    "Interleaved runs of switch, clock, scale and threads, or rounds of page. Default: 5.",
	"benchTime":    "Duration of a flow in switch and clock. Default: 2s.",
	"benchWhat": "Benchmark to run. In packet-hops per second: engine, the event loop; sim, RDMA with HPCC++; tcp, " +
		"TCP with CUBIC. scale: time and memory with 16 to 65,536 hosts; threads: one run on several threads; " +
		"peers: Debian's ns-3 for comparison; page: first paint of weir serve in Chromium with 10,000 results. As " +
		"root: switch, the lab's data plane between two kernels, unshaped and shaped; clock, kinds of thread " +
		"scheduling.",
	"labCapture": "Lab: switches at which every run captures input and output into captures/ of the results " +
		"folder. The simulator's switch replays the input and must output the same bytes. hosts: Weir's own hosts " +
		"are captured and replayed too.",
	"check": "Exit with 3 if a claim fails or the lab differs from the simulator; otherwise with 4 if a claim or " +
		"this comparison is undecided.",
	"labGenerator": "Lab: traffic generator: weir, or iperf3 for comparison.",
	"labScheduling": "Lab: scheduling of the time-critical threads: nice (niceness -20), fifo (SCHED_FIFO on all " +
		"processors but the first), deadline (SCHED_DEADLINE) or core (dedicated processors).",
	"mergeDirs": "Results folders of one experiment. They may have different seeds, and only some of the runs.",
	"mergeInto": "Folder for the merged results folder, like --out of weir run; a results folder that is already " +
		"there is extended.",
	"mergeRevisions": "Programs that may be mixed: same, runs of one program only; any, runs of several, and the " +
		"report names the program of each run.",
	"plotLegend":     "Place of the legend: below, above, right, best, a corner such as top_left, or none.",
	"resultsOpen":    "Verify and unpack an archive of weir results bundle; its source need not be trusted.",
	"completion":     "Print the script with which bash, zsh or fish completes commands, names and flags.",
	"labClean":       "Remove namespaces and interfaces of labs that have died; running labs keep theirs.",
	"labDataplaneID": "Identifier of the run in its lab, which must match; empty: not checked.",
	"importConfig":   "Configuration file (config.txt of the HPCC simulator); the files that it names are read too.",
	"importOut":      "Experiment file to write; it must not exist. Default: standard output.",
	"diffB":          "Results folder, experiment or fct.txt to compare with <a>.",
	"diffP95":        "With an fct.txt: max relative difference of the 95th percentile of the slowdown; off: not checked.",
	"diffP99":        "With an fct.txt: max relative difference of the 99th percentile of the slowdown; off: not checked.",
	"plotRanks": "Timeline: ranks to draw, as [RANK, …], or the number of ranks, starting with those that others " +
		"wait for.",
	"showNoPaper": "With --yaml: leave out the paper's reference, values and claims, as the start of an experiment " +
		"of your own.",
	"showTopology": "With --footprint of a switch program: the network, written like the key topology of an " +
		"experiment.",
	"showFootprint": "Print the resources that the switch programs use in a hardware pipeline, and which of their " +
		"operations such a pipeline cannot do.",
	"runJobs": "Max number of concurrent runs; 0: one per core. Short memory reduces it. A number above 0 also " +
		"allows a run that exceeds the memory.",
	"labAttempts":  "Lab: max number of attempts of a run that the machine disturbs (1 to 100).",
	"plotY":        "Vertical axis: a measure, a measure and its group (goodput.client0), cdf or ccdf.",
	"resultsFind":  "Only results of this experiment, or results folders with this prefix.",
	"serveOut":     "Folder that contains the results folders, and that new ones go into.",
	"workerMemory": "Max memory of a run, in MB; 0: the available memory divided by --jobs.",
	"exportInto":   "Folder to write into. Default: a folder with the format's name in the results folder.",
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
