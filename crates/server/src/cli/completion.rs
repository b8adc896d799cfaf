//! `skep completion SHELL`: completion for a shell, made from the table of commands.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

#[derive(Args)]
#[command(
    after_help = "bash: skep completion bash > ~/.local/share/bash-completion/completions/skep\n\
                  zsh:  skep completion zsh > ~/.zfunc/_skep, with fpath+=~/.zfunc before compinit in ~/.zshrc\n\
                  fish: skep completion fish > ~/.config/fish/completions/skep.fish"
)]
pub struct CompletionArgs {
    /// Shell.
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

pub fn run(args: &CompletionArgs, mut command: Command) -> anyhow::Result<()> {
    let shell = match args.shell.as_str() {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        _ => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "skep", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
