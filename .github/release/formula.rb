class Kvtop < Formula
  desc "Live inspector for KV-cache-aware routing in NVIDIA Dynamo"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"
  depends_on :linux

  on_intel do
    url "@BASE@/kvtop-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SHA_X86_64@"
  end
  on_arm do
    url "@BASE@/kvtop-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@SHA_AARCH64@"
  end

  def install
    bin.install "kvtop"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kvtop.bash" => "kvtop"
    zsh_completion.install "completions/_kvtop"
    fish_completion.install "completions/kvtop.fish"
  end

  test do
    assert_match "KVT001", shell_output("#{bin}/kvtop explain")
    assert_match "HEALTHY", shell_output("#{bin}/kvtop snapshot --demo healthy --for 30s -o text")
  end
end
