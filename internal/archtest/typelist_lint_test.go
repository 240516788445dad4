//go:build lint

package archtest

// Reasons of several exceptions.
const (
	record    = "a record: a field for each value that a file, a table or a kernel's message has"
	paperCode = "its fields and methods are the variables and steps of a published algorithm, by their names"
	registers = "the registers and tables of a switch program, each a field"
	driver    = "the state of one loop over all events, next to each other in memory; parts of it are types"
	codecs    = "writers and readers of each telemetry format in one type, in files by format"
)

// typeExceptions are the types that may have more methods or fields than a reader can remember at once.
var typeExceptions = []TypeException{
	{"app/internal/cli.commandLine", 0, 32, "a field for each option of the command line"},
	{"app/internal/cli.plotFlags", 0, 26, "a field for each option of the command line"},
	{"core/cc/bbr.BBR", 0, 22, paperCode},
	{"core/cc/cctest.Model", 0, 22, "the variables of a sender and of a path, in one model"},
	{"core/cc/cctest.Sender", 0, 28, "a sender of all kinds in one, so that tests set any of its values"},
	{"core/cc/nscc.Law", 0, 23, paperCode},
	{"core/dataplane.Switch", 52, 36, driver},
	{"core/dataplane.Traits", 0, 24, "a field for each trait, in one place"},
	{"core/jobs/job.Rank", 0, 26, driver},
	{"core/outcome.Result", 0, 30, record},
	{"core/packet.Packet", 90, 31, "a packet of any protocol, with readers and writers of each header and extension"},
	{"core/telemetry.Format", 42, 0, codecs},
	{"core/trace.Record", 0, 22, record},
	{"core/transport/tcp.Sender", 101, 0,
		"functions of Linux's TCP, by their names, over one connection; its parts are types"},
	{"internal/sockdiag.Info", 0, 70, record},
	{"internal/testkit/wiretest.Frame", 0, 23, record},
	{"papers/ncf.Config", 0, 23, "a field for each option of an experiment"},
	{"papers/ncf.Origin", 0, 24, registers},
	{"papers/ncf.Program", 76, 0, "hooks of one switch program and the steps between them, in files by mechanism"},
	{"papers/ncf.echo", 0, 26, registers},
	{"papers/p4abc.Program", 44, 0, "hooks of one switch program and the steps between them, in files by mechanism"},
	{"papers/p4te.Program", 0, 26, registers},
	{"study/bench.SwitchRow", 0, 22, record},
	{"study/page.Server", 53, 0, "a method for each page"},
	{"study/results.Attempt", 0, 26, record},
	{"study/results.merger", 0, 22, "what one merge has read of all parts so far"},
	{"study/results.TraceRow", 0, 21, record},
	{"study/run/jetstream.Coordinator", 0, 30, "one server: what its lock protects, and the parts that it consists of"},
	{"worlds/lab.Report", 0, 31, record},
	{"worlds/lab/traffic.connections", 0, 24, "one loop over all sockets of a host"},
	{"worlds/sim.Config", 0, 23, record},
	{"worlds/sim.Simulation", 79, 38, driver},
	{"worlds/sim.drive", 0, 23, driver},
	{"worlds/sim.host", 0, 29, driver},
}
