package run

// LabAgents returns the configuration of agents of a point's hosts.
var LabAgents = labAgents
