/** The version of the provisioner and of the agent, which reports it without the files of the package. */
export const version = "0.1.0";
