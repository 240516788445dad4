package topology

import "io"

// FileFormat is a format of files that describe a network.
type FileFormat struct {
	Name      string // as an experiment names it: {file: fat.txt, format: hpcc}
	Doc       string // what such a file is, in one line
	Announces bool   // it announces its number of links; what follows them can be ignored
	// Read reads a file; errors, of type *FormatError, name it. With an Excess error it returns the
	// network, too.
	Read func(r io.Reader, file string) (*Network, error)
}

// Formats are those of the HPCC simulator and of htsim.
func Formats() []FileFormat {
	return []FileFormat{
		{Name: "hpcc", Doc: "topology of the HPCC simulator", Announces: true, Read: ReadHPCC},
		{Name: "htsim", Doc: ".topo file of htsim", Read: readHTSim},
	}
}
