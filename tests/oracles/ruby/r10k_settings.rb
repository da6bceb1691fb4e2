# The names of all settings that r10k knows.
require "json"
require "r10k/settings"

def names(collection, above)
  settings = collection.instance_variable_get(:@settings)
  settings.flat_map do |name, setting|
    whole = [*above, name]
    case setting
    when R10K::Settings::Collection
      names(setting, whole)
    when R10K::Settings::List
      [whole.join(".")] + names(setting.instance_variable_get(:@item_proc).call, whole)
    else
      [whole.join(".")]
    end
  end
end

puts JSON.generate(names(R10K::Settings.global_settings, []))
